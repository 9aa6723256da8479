import { type WebServer, openWebServer } from './web-server.ts';
import { zip } from './zip.ts';

/** A Go module as its author wrote it. */
export interface GoModule {
  path: string;
  version: string;
  files: Record<string, string>;
}

/** A small Go module proxy on loopback. */
export function openGoProxy(modules: readonly GoModule[]): Promise<WebServer> {
  return openWebServer(
    () =>
      new Map<string, string | Buffer>(
        modules.flatMap(({ path, version, files }) => {
          const info = JSON.stringify({ Version: version, Time: '2026-01-01T00:00:00Z' });
          const archive = Object.entries(files).map(([file, text]) => [`${path}@${version}/${file}`, text]);
          return [
            [`/${path}/@latest`, info],
            [`/${path}/@v/list`, `${version}\n`],
            [`/${path}/@v/${version}.info`, info],
            [`/${path}/@v/${version}.mod`, files['go.mod'] ?? ''],
            [`/${path}/@v/${version}.zip`, zip(Object.fromEntries(archive) as Record<string, string>)],
          ];
        }),
      ),
  );
}
