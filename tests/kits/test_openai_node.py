"""openai for Node through the router."""
import pathlib

from support import openai_cases
from support.clients import NodeEnvironment


def client(binary):
    environment = NodeEnvironment(binary)
    program = pathlib.Path(__file__).parent / "clients" / "openai_client.mjs"
    return [str(environment.node), str(program)], environment.folder


if __name__ == "__main__":
    openai_cases.use_client(client)
    openai_cases.main()
