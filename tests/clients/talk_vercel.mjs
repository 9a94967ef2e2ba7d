// The AI SDK of Vercel: generateObject, and generateText with a tool that is called.
// node talk_vercel.mjs BASE_URL MODEL  ->  prints what happened as one line of JSON
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateObject, generateText, isStepCount, Output, tool } from 'ai';
import { z } from 'zod';

globalThis.AI_SDK_LOG_WARNINGS = false;
const [url, name] = process.argv.slice(2);
const shared = { model: createAnthropic({ baseURL: `${url}/v1`, apiKey: 'any' })(name), maxRetries: 0 };
const part = z.object({ name: z.string(), size: z.number().int().min(1).max(100) });
const schema = z.object({
  customer: z.string(),
  count: z.number().int(),
  urgent: z.boolean(),
  kind: z.enum(['small', 'large']),
  colour: z.enum(['red', 'blue']),
  parts: z.array(part).min(1),
  note: z.string().nullable(),
});
const inputs = [];
const execute = async (input) => {
  inputs.push(input);
  return 'a.py\nb.py';
};
const glob = tool({ description: 'Find files by pattern.', inputSchema: z.object({ pattern: z.string() }), execute });
const files = { ...shared, prompt: 'How many Python files are here?', tools: { glob }, stopWhen: isStepCount(5) };

const { object } = await generateObject({ ...shared, schema, prompt: 'Ann orders 3 red bolts.' });
const { text } = await generateText(files);
const { output } = await generateText({ ...files, output: Output.object({ schema }) });
console.log(JSON.stringify({ object, text, output, inputs }));
