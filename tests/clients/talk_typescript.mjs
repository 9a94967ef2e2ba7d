// The official TypeScript SDK has one tool conversation by streaming, and one through its tool runner.
// node talk_typescript.mjs BASE_URL MODEL  ->  prints what happened as one line of JSON
import Anthropic from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';

const [baseURL, model] = process.argv.slice(2);
const client = new Anthropic({ apiKey: 'any', baseURL, maxRetries: 0 });
const question = { role: 'user', content: 'How many Python files are here?' };
const schema = { type: 'object', properties: { pattern: { type: 'string' } }, required: ['pattern'] };
const files = 'a.py\nb.py';

async function streamed() {
  const tools = [{ name: 'glob', description: 'Find files by pattern.', input_schema: schema }];
  const request = { model, max_tokens: 500, tools };
  const events = [];
  const asked = client.messages.stream({ ...request, messages: [question] });
  asked.on('streamEvent', (event) => events.push(event.type));
  const first = await asked.finalMessage();
  const calls = first.content.filter((block) => block.type === 'tool_use');
  const results = calls.map((call) => ({ type: 'tool_result', tool_use_id: call.id, content: files }));
  const messages = [question, { role: 'assistant', content: first.content }, { role: 'user', content: results }];
  const last = await client.messages.stream({ ...request, messages }).finalMessage();
  return { calls, events: [...new Set(events)], stop: [first.stop_reason, last.stop_reason], text: last.content[0].text };
}

async function toolRunner() {
  const inputs = [];
  const run = (input) => {
    inputs.push(input);
    return files;
  };
  const glob = betaTool({ name: 'glob', description: 'Find files by pattern.', inputSchema: schema, run });
  const request = { model, max_tokens: 500, tools: [glob], messages: [question] };
  const last = await client.beta.messages.toolRunner(request);
  return { inputs, stop: last.stop_reason, text: last.content[0].text };
}

async function refused() {
  try {
    await client.messages.create({ model, max_tokens: 500, messages: [{ role: 'user', content: '' }] });
  } catch (error) {
    return { status: error.status, type: error.type, requestID: error.requestID, name: error.constructor.name };
  }
}

console.log(JSON.stringify({ streamed: await streamed(), runner: await toolRunner(), refused: await refused() }));
