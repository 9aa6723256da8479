import { operationTags } from '@toolhive/contract/operation';
import type { Operation } from '@toolhive/contract/operation';
import { operations } from '@toolhive/contract/operations';
import { apiBase, failureStatus } from '@toolhive/contract/wire';
import { html } from 'hono/html';

/** A page about every operation, for reading without a network; it has no scripts, and everything in it is from the contract. */
export async function referencePage(): Promise<string> {
  const all = Object.values<Operation>(operations).filter(({ socketOnly }) => socketOnly !== true);
  const sections = Object.entries(operationTags).map(([tag, says]) => {
    const own = all.filter((operation) => operation.tag === tag);
    return own.length === 0
      ? ''
      : html`<h2>${tag}</h2>
          <p>${says}</p>
          ${own.map(article)}`;
  });
  const page = await html`<!doctype html>
    <html lang="en">
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width" />
      <meta name="color-scheme" content="light dark" />
      <title>ToolHive API</title>
      <h1>ToolHive API</h1>
      <p>
        Every operation, with what it answers. Schemas and examples stand in
        <a href="/api/openapi.json">its OpenAPI document</a>.
      </p>
      ${sections}
    </html> `;
  return page.toString();
}

function article({ method, path, summary, description, success, failures }: Operation) {
  return html`<h3>${summary}</h3>
    <p><code>${method} ${apiBase}${path}</code></p>
    ${description === undefined ? '' : html`<p>${description}</p>`}
    <ul>
      <li>${success.status}: ${success.description}</li>
      ${failures.map((kind) => html`<li>${failureStatus[kind].status}: ${failureStatus[kind].meaning}</li>`)}
    </ul> `;
}
