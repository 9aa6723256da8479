/** One red pixel. */
export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';

/** No sound at all. */
const wav = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=';

export const text = (value: string) => ({ type: 'text' as const, text: value });

export const image = { type: 'image' as const, data: png, mimeType: 'image/png' };

export const audio = { type: 'audio' as const, data: wav, mimeType: 'audio/wav' };

export const embedded = (uri: string, mimeType: string, value: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: value },
});

/** One piece of the content of a tool's result or of a prompt. */
export type Content = ReturnType<typeof text> | typeof image | typeof audio | ReturnType<typeof embedded>;
