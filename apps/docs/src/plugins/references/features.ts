import { clientVersions, exceptions, features, unsupportedReason, ways } from '@toolhive/proxy/support';
import type { ClientVersion, Feature, Way } from '@toolhive/proxy/support';
import { table } from './markdown.ts';

/** Returns the table with the features of MCP by the way to a server, to be included in a page. Each cell has a test. */
export function featureReference(): string {
  const all = Object.entries(ways) as [Way, string][];
  const rows = (Object.entries(features) as [Feature, string][]).map(([feature, title]) => [
    title,
    ...all.map(([way]) =>
      versionsOf(
        clientVersions.filter((client) => unsupportedReason(feature, { client, way }) === undefined),
      ),
    ),
  ]);
  const reasons = exceptions.map(({ feature, reason }) => `- ${features[feature]}: ${reason}\n`);
  const heads = ['Feature', ...all.map(([, title]) => title)];
  return `${table('Features', heads, rows)}\n\nThe exceptions:\n\n${reasons.join('')}`;
}

function versionsOf(versions: readonly ClientVersion[]): string {
  if (versions.length === clientVersions.length) return 'all versions';
  return versions.length === 0 ? 'no' : versions.join(', ');
}
