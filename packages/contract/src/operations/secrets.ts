import * as z from 'zod';
import { operation } from '../operation.ts';
import {
  CreateSecret,
  CreatedSecret,
  SecretKeys,
  SecretName,
  SecretWithValue,
  SecretsProvider,
  SetupSecrets,
  SetupSecretsResult,
  UpdateSecret,
  UpdatedSecret,
} from '../schemas/secrets.ts';

const byKey = z.object({ key: SecretName.meta({ description: 'The name of the secret.' }) });

export const secretOperations = {
  setupSecrets: operation({
    method: 'POST',
    path: '/secrets',
    tag: 'secrets',
    summary: 'Set up where secrets are kept',
    description:
      'Tries the provider out before it is used. Called again it changes the provider, or unlocks the encrypted one with its password; what is stored stays.',
    body: SetupSecrets,
    success: { status: 201, description: 'Secrets can be used.', body: SetupSecretsResult },
    failures: ['conflict', 'unavailable'],
  }),
  getSecretsProvider: operation({
    method: 'GET',
    path: '/secrets/default',
    tag: 'secrets',
    summary: 'Describe where secrets are kept',
    success: { status: 200, description: 'The provider and what it can do.', body: SecretsProvider },
    failures: ['not-found'],
  }),
  listSecrets: operation({
    method: 'GET',
    path: '/secrets/default/keys',
    tag: 'secrets',
    summary: 'List the names of secrets',
    description: 'Only over its own socket does the daemon ever tell a value.',
    success: { status: 200, description: 'The names, sorted.', body: SecretKeys },
    failures: ['not-found', 'unsupported', 'unavailable'],
  }),
  createSecret: operation({
    method: 'POST',
    path: '/secrets/default/keys',
    tag: 'secrets',
    summary: 'Store a secret',
    body: CreateSecret,
    success: { status: 201, description: 'The secret is stored.', body: CreatedSecret },
    failures: ['not-found', 'unsupported', 'conflict', 'unavailable'],
  }),
  updateSecret: operation({
    method: 'PUT',
    path: '/secrets/default/keys/{key}',
    tag: 'secrets',
    summary: 'Change a secret',
    description: 'Workloads get the new value when they start the next time.',
    params: byKey,
    body: UpdateSecret,
    success: { status: 200, description: 'The secret has the new value.', body: UpdatedSecret },
    failures: ['not-found', 'unsupported', 'unavailable'],
  }),
  readSecret: operation({
    method: 'GET',
    path: '/secrets/default/keys/{key}/value',
    socketOnly: true,
    tag: 'secrets',
    summary: 'Read the value of a secret',
    params: byKey,
    success: { status: 200, description: 'The secret and its value.', body: SecretWithValue },
    failures: ['not-found', 'unavailable'],
  }),
  deleteSecret: operation({
    method: 'DELETE',
    path: '/secrets/default/keys/{key}',
    tag: 'secrets',
    summary: 'Remove a secret',
    params: byKey,
    success: { status: 204, description: 'The secret is gone.' },
    failures: ['not-found', 'unsupported', 'unavailable'],
  }),
  forgetSecretsKey: operation({
    method: 'DELETE',
    path: '/secrets/default/keyring',
    tag: 'secrets',
    summary: 'Have the keyring forget the key of the secrets',
    description:
      'From then on the encrypted file is opened by its password. Refused when it has none: then nobody could open it.',
    success: { status: 204, description: 'The keyring has no key of them.' },
    failures: ['not-found', 'unsupported', 'conflict', 'unavailable'],
  }),
};
