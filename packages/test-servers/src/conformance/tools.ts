import { setTimeout as delay } from 'node:timers/promises';
import { form, prompt, roots } from './caller.ts';
import type { Answer, Caller, Question } from './caller.ts';
import { audio, embedded, image, text } from './content.ts';
import type { Content } from './content.ts';

export interface Tool {
  description: string;
  inputSchema: { type: 'object' } & Record<string, unknown>;
  /** The content, as a list or as text. An exception becomes an error result. */
  call(given: Record<string, unknown>, caller: Caller): Called | Promise<Called>;
}

type Called = string | Content[];

const nothing = { type: 'object' as const };
const string = { type: 'string' };

/**
 * The tools that the conformance suite calls, by name: all scored ones, and others that the SDKs support. The tasks
 * extension is missing, because no SDK implements it and no protocol version requires it.
 */
export const tools: Record<string, Tool> = {
  test_simple_text: {
    description: 'Answers with a text.',
    inputSchema: nothing,
    call: () => 'This is a simple text response for testing.',
  },
  test_image_content: {
    description: 'Answers with an image.',
    inputSchema: nothing,
    call: () => [image],
  },
  test_audio_content: {
    description: 'Answers with a sound.',
    inputSchema: nothing,
    call: () => [audio],
  },
  test_embedded_resource: {
    description: 'Answers with a resource.',
    inputSchema: nothing,
    call: () => [embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')],
  },
  test_multiple_content_types: {
    description: 'Answers with content of several types.',
    inputSchema: nothing,
    call: () => [
      text('Multiple content types test:'),
      image,
      embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
    ],
  },
  test_error_handling: {
    description: 'Fails.',
    inputSchema: nothing,
    call() {
      throw new Error('This tool intentionally returns an error for testing');
    },
  },
  test_tool_with_logging: {
    description: 'Logs while it runs.',
    inputSchema: nothing,
    async call(_given, caller) {
      for (const message of ['Tool execution started', 'Tool processing data', 'Tool execution completed']) {
        await caller.log(message);
        await delay(stepMs);
      }
      return 'Tool with logging executed successfully';
    },
  },
  test_tool_with_progress: {
    description: 'Reports progress while it runs.',
    inputSchema: nothing,
    async call(_given, caller) {
      for (const step of [0, 50, 100]) {
        await caller.progress(step, 100);
        await delay(stepMs);
      }
      return String(caller.progressToken ?? 'no-progress-token');
    },
  },
  test_reconnection: {
    description: 'Ends its stream before it answers.',
    inputSchema: nothing,
    async call(_given, caller) {
      caller.hangUp();
      await delay(stepMs);
      return 'Reconnection test completed successfully';
    },
  },
  json_schema_2020_12_tool: {
    description: 'Takes arguments that only JSON Schema 2020-12 can describe.',
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: { $anchor: 'addressDef', type: 'object', properties: { street: string, city: string } },
      },
      properties: {
        name: string,
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: string,
        email: string,
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
    call: (given) => JSON.stringify(given),
  },
  test_x_mcp_header: {
    description: 'Has an argument that is mirrored in a header.',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' }, level: { type: 'integer' } },
    },
    call: ({ region }) => `region=${String(region)}`,
  },

  test_sampling: asking('Asks for a completion.', { prompt: string }, ({ prompt: wanted }) => ({
    completion: prompt(String(wanted), 100),
  })),
  test_elicitation: asking('Asks the user.', { message: string }, ({ message }) => ({
    response: form(String(message), { response: { type: 'string', description: "User's response" } }),
  })),
  test_elicitation_sep1034_defaults: asking('Asks with defaults.', {}, () => ({
    fields: form(
      'Please review and update the form fields with defaults',
      {
        name: { type: 'string', description: 'User name', default: 'John Doe' },
        age: { type: 'integer', description: 'User age', default: 30 },
        score: { type: 'number', description: 'User score', default: 95.5 },
        status: {
          type: 'string',
          description: 'User status',
          enum: ['active', 'inactive', 'pending'],
          default: 'active',
        },
        verified: { type: 'boolean', description: 'Verification status', default: true },
      },
      [],
    ),
  })),
  test_elicitation_sep1330_enums: asking('Asks for choices.', {}, () => ({
    choices: form('Please select options from the enum fields', choices, []),
  })),

  test_input_required_result_elicitation: asking('Asks for a name.', {}, () => ({ user_name: nameForm })),
  test_input_required_result_sampling: asking('Asks for a completion.', {}, () => ({
    capital_question: prompt('What is the capital of France?', 100),
  })),
  test_input_required_result_list_roots: asking('Asks for roots.', {}, () => ({ client_roots: roots })),
  test_input_required_result_multiple_inputs: asking('Asks for three things at once.', {}, () => ({
    user_name: nameForm,
    greeting: prompt('Generate a greeting', 50),
    client_roots: roots,
  })),
  test_input_required_result_request_state: asking('Asks for a confirmation.', {}, () => confirmation),
  test_input_required_result_tampered_state: asking('Asks for a confirmation.', {}, () => confirmation),
  test_input_required_result_capabilities: asking(
    'Asks the client for everything that the client supports.',
    {},
    (_given, { capabilities }) => ({
      ...(capabilities.elicitation && { user_name: nameForm }),
      ...(capabilities.sampling && { greeting: prompt('Generate a greeting', 50) }),
      ...(capabilities.roots && { client_roots: roots }),
    }),
  ),
  test_input_required_result_multi_round: {
    description: 'Asks a second time after the first answer.',
    inputSchema: nothing,
    async call(_given, caller) {
      const { step1 } = await caller.ask({ step1: form('Step 1: What is your name?', { name: string }) });
      const { step2 } = await caller.ask({
        step2: form('Step 2: What is your favorite color?', { color: string }),
      });
      return describe({ step1, step2 });
    },
  },
  test_missing_capability: asking('Cannot do without sampling.', {}, () => ({
    llm_answer: prompt('Reply with the single word: pong', 16),
  })),

  test_streaming_elicitation: {
    description: "Asks nothing, regardless of the client's capabilities.",
    inputSchema: nothing,
    call: () => 'nothing was asked',
  },
  test_logging_tool: {
    description: 'Logs once.',
    inputSchema: nothing,
    async call(_given, caller) {
      await caller.log('seen only by those who asked for logs');
      return 'logged';
    },
  },
  test_trigger_tool_change: {
    description: 'Says that the list of tools has changed.',
    inputSchema: nothing,
    async call(_given, caller) {
      await caller.listChanged('tools');
      return 'said';
    },
  },
  test_trigger_prompt_change: {
    description: 'Says that the list of prompts has changed.',
    inputSchema: nothing,
    async call(_given, caller) {
      await caller.listChanged('prompts');
      return 'said';
    },
  },
};

/** Between two messages of one call, so that a proxy which holds them back is seen. */
const stepMs = 50;

/** A tool that asks the client and reports the answer. */
function asking(
  description: string,
  properties: Record<string, object>,
  questions: (given: Record<string, unknown>, caller: Caller) => Record<string, Question>,
): Tool {
  return {
    description,
    inputSchema: { type: 'object', properties, required: Object.keys(properties) },
    call: async (given, caller) => describe(await caller.ask(questions(given, caller))),
  };
}

const describe = (answers: Record<string, Answer>) => `answered: ${JSON.stringify(answers)}`;

const nameForm = form('What is your name?', { name: string });
const confirmation = { confirm: form('Please confirm', { ok: { type: 'boolean' } }) };

const options = ['option1', 'option2', 'option3'];
const titled = ['First', 'Second', 'Third'].map((title, index) => ({ const: `value${index + 1}`, title }));

/** Every way to offer a choice, the deprecated one too. */
const choices = {
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', minItems: 1, maxItems: 3, items: { anyOf: titled } },
};
