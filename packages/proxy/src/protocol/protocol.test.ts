import { expect, test } from 'vitest';
import { identityFrom } from './protocol.ts';

test('takes the newest revision that a server and we know, whatever it names first', () => {
  const supportedVersions = ['2025-06-18', '2030-01-01', '2026-07-28', '2025-11-25'];

  const { protocolVersion } = identityFrom({ supportedVersions, capabilities: {} });

  expect(protocolVersion).toBe('2026-07-28');
});
