"""MODEL_FILE PORT ALIAS SLOTS: the server of llama.cpp, one thread, slots and metrics shown, until killed."""
import sys
import threading

import xllamacpp

model, port, alias, slots = sys.argv[1:]
parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.model_alias = {alias}
parameters.port = int(port)
parameters.n_parallel = int(slots)
parameters.n_ctx = 32768
parameters.endpoint_slots = parameters.endpoint_metrics = True
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
threading.Event().wait()
