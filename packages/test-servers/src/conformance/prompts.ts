import { form } from './caller.ts';
import type { Caller } from './caller.ts';
import { embedded, image, text } from './content.ts';
import type { Content } from './content.ts';

export interface Prompt {
  description: string;
  /** The required arguments with their descriptions. */
  arguments: Record<string, string>;
  get(given: Record<string, string>, caller: Caller): Content[] | Promise<Content[]>;
}

/** The prompts that the conformance suite asks for, by name. */
export const prompts: Record<string, Prompt> = {
  test_simple_prompt: {
    description: 'A prompt without arguments.',
    arguments: {},
    get: () => [text('This is a simple prompt for testing.')],
  },
  test_prompt_with_arguments: {
    description: 'A prompt with required arguments.',
    arguments: { arg1: 'First test argument', arg2: 'Second test argument' },
    get: ({ arg1, arg2 }) => [text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)],
  },
  test_prompt_with_embedded_resource: {
    description: 'A prompt that embeds a resource.',
    arguments: { resourceUri: 'URI of the resource to embed' },
    get: ({ resourceUri = '' }) => [
      embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
      text('Please process the embedded resource above.'),
    ],
  },
  test_prompt_with_image: {
    description: 'A prompt with an image.',
    arguments: {},
    get: () => [image, text('Please analyze the image above.')],
  },
  test_input_required_result_prompt: {
    description: 'A prompt that asks the user before it is rendered.',
    arguments: {},
    async get(_given, caller) {
      const { user_context } = await caller.ask({
        user_context: form('What context should the prompt use?', { context: { type: 'string' } }),
      });
      return [text(`Use the following context: ${JSON.stringify(user_context['content'])}`)];
    },
  },
};
