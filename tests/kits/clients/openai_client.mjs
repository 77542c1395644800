// CASE BASE_URL MODEL: one call of openai for Node, found in the working folder; prints what it saw as JSON.
import { createRequire } from "node:module";

const { OpenAI } = createRequire(process.cwd() + "/package.json")("openai");
const [name, baseURL, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0, timeout: 30000 });
const messages = [{ role: "user", content: "hello" }];

const chat = (options = {}) => client.chat.completions.create({ model, messages, max_tokens: 12, ...options });

async function read(stream, atMost) {
  const said = { text: "", pieces: 0, finish: null, completion_tokens: null };
  for await (const piece of stream) {
    if (piece.usage) said.completion_tokens = piece.usage.completion_tokens;
    for (const choice of piece.choices) {
      if (choice.delta.content) said.pieces += 1;
      said.text += choice.delta.content ?? "";
      said.finish = choice.finish_reason ?? said.finish;
    }
    if (said.pieces === atMost) break;
  }
  return said;
}

const cases = {
  async plain() {
    const answer = await chat();
    const { message, finish_reason } = answer.choices[0];
    return { text: message.content, finish: finish_reason, completion_tokens: answer.usage.completion_tokens };
  },
  async stream() {
    return read(await chat({ stream: true, stream_options: { include_usage: true } }));
  },
  async leave() {
    return read(await chat({ stream: true, max_tokens: 2000 }), 2);
  },
  async models() {
    const ids = [];
    for await (const entry of client.models.list()) ids.push(entry.id);
    return ids;
  },
  async plain_error() {
    try {
      await chat();
      return {};
    } catch (error) {
      return { status: error.status, code: error.code, message: error.message };
    }
  },
  async stream_error() {
    const said = { raised: false, pieces: 0 };
    try {
      for await (const _ of await chat({ stream: true })) said.pieces += 1;
    } catch (error) {
      Object.assign(said, { raised: true, message: error.message });
    }
    return said;
  },
};

console.log(JSON.stringify(await cases[name]()));
