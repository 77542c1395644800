"""openai for Python through the router."""
import pathlib

from support import openai_cases
from support.clients import OPENAI_PYTHON, Environment


def client(binary):
    environment = Environment(binary, "python", OPENAI_PYTHON)
    program = pathlib.Path(__file__).parent / "clients" / "openai_client.py"
    return [str(environment.python), str(program)], environment.folder


if __name__ == "__main__":
    openai_cases.use_client(client)
    openai_cases.main()
