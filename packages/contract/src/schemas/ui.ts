import * as z from 'zod';
import { appHostForm, isAppHost, maxAppHosts } from '../app-hosts.ts';

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

const AppHost = z
  .string()
  .max(300)
  .regex(appHostForm, 'expected https:// or wss:// and a public name')
  .refine(isAppHost, 'the name leads to this machine or its network');

const AppHosts = z.array(AppHost).max(maxAppHosts).optional();

export const UiAppRequest = z
  .object({
    connect_hosts: AppHosts.meta({
      description: 'The hosts that the app may send requests to, such as `https://api.example.com`.',
    }),
    resource_hosts: AppHosts.meta({
      description: 'The hosts that the app may load scripts, styles, pictures, sounds, and fonts from.',
    }),
  })
  .meta({
    id: 'UiAppRequest',
    description: 'The network access that the user grants an MCP App. By default, none.',
    examples: [{ connect_hosts: ['https://api.example.com'] }],
  });

export const UiApp = z
  .object({
    url: z.string().meta({
      description:
        'The address of the frame for the app, on a separate origin. The address is valid once, for one minute.',
    }),
    proof: z.string().meta({
      description: 'The frame sends this text first, so that no other page is mistaken for it.',
    }),
  })
  .meta({
    id: 'UiApp',
    description: 'A frame for one MCP App.',
    examples: [{ url: 'http://localhost:43211/frame/dGhlIG9uZQ', proof: 'YW4gZXhhbXBsZQ' }],
  });
