/** The sender of the current request, with the same interface for every protocol version. */
export interface Caller {
  /** The client's declared capabilities. */
  readonly capabilities: { elicitation?: object; sampling?: object; roots?: object };
  readonly progressToken: string | number | undefined;
  log(message: string): Promise<void>;
  progress(progress: number, total: number): Promise<void>;
  /** Asks the client and returns its answers by the same keys, when all have arrived. */
  ask<Key extends string>(questions: Record<Key, Question>): Promise<Record<Key, Answer>>;
  /** Tells every listening client that a list has changed. */
  listChanged(list: 'tools' | 'prompts'): Promise<void>;
  /** Ends this request's stream. The client then resumes it. */
  hangUp(): void;
}

/** A request to the client: sent directly, or as part of an `input_required` result. */
export interface Question {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list';
  params?: Record<string, unknown>;
}

export type Answer = Record<string, unknown>;

/** Asks the user to fill in a form. */
export function form(
  message: string,
  properties: Record<string, object>,
  required: readonly string[] = Object.keys(properties),
): Question {
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema: { type: 'object', properties, required } },
  };
}

/** Asks the client's model. */
export function prompt(text: string, maxTokens: number): Question {
  const messages = [{ role: 'user', content: { type: 'text', text } }];
  return { method: 'sampling/createMessage', params: { messages, maxTokens } };
}

/** Asks which folders the client works in. */
export const roots: Question = { method: 'roots/list', params: {} };

/** Whether a client's answer contains the requested content. A client may send anything. */
export function isAnswer(question: Question, answer: unknown): answer is Answer {
  if (typeof answer !== 'object' || answer === null) return false;
  return looksRight[question.method](answer as Answer);
}

const looksRight: Record<Question['method'], (answer: Answer) => boolean> = {
  'elicitation/create': ({ action, content }) =>
    typeof action === 'string' && (action !== 'accept' || typeof content === 'object'),
  'sampling/createMessage': ({ content }) => content !== undefined,
  'roots/list': ({ roots: listed }) => Array.isArray(listed),
};
