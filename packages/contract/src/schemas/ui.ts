import * as z from 'zod';

export const UiAddress = z
  .object({
    url: z.string().meta({
      description:
        'The address of the web UI. If browsers must sign in, the address ends with a code that is valid once, for one minute.',
    }),
  })
  .meta({
    id: 'UiAddress',
    description: 'The address of the web UI.',
    examples: [{ url: 'http://127.0.0.1:8080/ui/' }],
  });

export const UiSignIn = z
  .object({
    code: z.string().max(100).meta({ description: 'The code after `#` in the address from `thv ui`.' }),
  })
  .meta({
    id: 'UiSignIn',
    description: 'The code that signs a browser in.',
    examples: [{ code: 'dGhpcyBjb2RlIGlzIG9ubHkgYW4gZXhhbXBsZQ' }],
  });
