import * as z from 'zod';

/** Cedar policies that control the use of tools, prompts, resources, and skills of a server. */
export const AuthzConfig = z
  .looseObject({
    version: z.string().optional(),
    type: z.enum(['cedarv1']).optional(),
    cedar: z
      .looseObject({
        policies: z.array(z.string().max(100_000)).max(1_000).nullish().meta({
          description: 'One Cedar policy each. Their IDs are policy0, policy1, and so on.',
        }),
        entities_json: z.string().max(1_000_000).optional().meta({
          description: 'A JSON array of Cedar entities, for example groups of principals.',
        }),
      })
      .optional(),
  })
  .meta({
    id: 'AuthzConfig',
    description: 'Cedar policies that control the use of tools, prompts, resources, and skills.',
  });
export type AuthzConfig = z.infer<typeof AuthzConfig>;

/** The stored configuration of the token exchange (RFC 8693). */
export const TokenExchangeConfig = z
  .looseObject({
    token_url: z.string().optional(),
    client_id: z.string().optional(),
    client_secret: z.string().optional().meta({ description: 'A reference to a secret, never the secret.' }),
    audience: z.string().optional(),
    scopes: z.array(z.string()).nullish(),
    subject_token_type: z.string().optional(),
    header_strategy: z.enum(['replace', 'custom']).optional(),
    external_token_header_name: z.string().optional(),
  })
  .meta({
    id: 'TokenExchangeConfig',
    description: "The exchange of a client's token for a token of the server (RFC 8693).",
  });
export type TokenExchangeConfig = z.infer<typeof TokenExchangeConfig>;

/** A question to the policies of a workload. */
export const AuthorizationQuestion = z
  .object({
    principal: z.string().min(1).max(256).meta({ description: 'The subject (sub) of a token.' }),
    claims: z.record(z.string(), z.unknown()).nullish().meta({ description: 'Further claims of the token.' }),
    tool: z.string().max(256).optional(),
    prompt: z.string().max(256).optional(),
    resource: z.string().max(4096).optional().meta({ description: 'The URI of a resource.' }),
    skill: z.string().max(4096).optional().meta({ description: 'The URI of a skill.' }),
    arguments: z
      .record(z.string(), z.unknown())
      .nullish()
      .meta({ description: 'The arguments of the call.' }),
    annotations: z.record(z.string(), z.boolean()).nullish().meta({
      description:
        'Annotations of the tool, such as readOnlyHint. By default, those that the user has approved.',
    }),
  })
  .meta({
    id: 'AuthorizationQuestion',
    description: 'Whether a principal may use a tool, a prompt, a resource, or a skill.',
    examples: [{ principal: 'ada', tool: 'echo', arguments: { message: 'hello' } }],
  });
export type AuthorizationQuestion = z.infer<typeof AuthorizationQuestion>;

/** A policy that determines a decision. */
const DecidingPolicy = z
  .object({ id: z.string(), policy: z.string() })
  .meta({ id: 'DecidingPolicy', description: 'A policy by its ID, and its text.' });

export const AuthorizationDecision = z
  .object({
    allowed: z.boolean(),
    policies: z
      .array(DecidingPolicy)
      .meta({ description: 'The policies that determine the decision. Empty if no policy applies.' }),
    errors: z
      .array(z.string())
      .meta({ description: 'The errors during the evaluation of policies. Each error is a denial.' }),
    warnings: z.array(z.string()).meta({
      description:
        'Tools, prompts, resources, and attributes in the policies that do not exist on the server, and ambiguous names of resources, with their positions.',
    }),
  })
  .meta({
    id: 'AuthorizationDecision',
    description: 'A decision, and the policies that determine the decision.',
    examples: [
      {
        allowed: true,
        policies: [{ id: 'policy0', policy: 'permit(principal, action == Action::"call_tool", resource);' }],
        errors: [],
        warnings: [],
      },
    ],
  });
export type AuthorizationDecision = z.infer<typeof AuthorizationDecision>;
