import { useState } from 'react';
import type { ReactNode } from 'react';
import { asObject, asText } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';
import { bytes, duration } from '../../ui/format.ts';
import { asJson } from '../../ui/json.ts';
import { ForeignLink, ForeignText } from '../../ui/text.tsx';
import { useValidation } from '../../ui/validate.ts';

/** How many items are shown at once. */
const maxBlocks = 100;
/** How deep messages and resources are shown in each other. Servers have no reason to nest them. */
const maxDepth = 3;

/** The result of a call. Everything in it comes from the server, so it is framed and named as such. */
export default function Result({
  workload,
  result,
  ms,
  outputSchema,
}: {
  workload: string;
  result: Values;
  ms: number;
  outputSchema: unknown;
}): ReactNode {
  const [shown, setShown] = useState(maxBlocks);
  const isError = result['isError'] === true;
  const structured = result['structuredContent'];
  const blocks = [result['content'], result['contents'], result['messages']].flatMap((list) =>
    Array.isArray(list) ? (list as unknown[]) : [],
  );
  return (
    <div className="foreign">
      <span className="from">
        From {workload}, {duration(ms)}
        {isError && <strong className="problem"> – the tool reported an error</strong>}
      </span>
      {blocks.slice(0, shown).map((block, index) => (
        <Block key={index} block={asObject(block)} />
      ))}
      {blocks.length > shown && (
        <button type="button" onClick={() => setShown(shown + maxBlocks)}>
          Show {Math.min(maxBlocks, blocks.length - shown)} of {blocks.length - shown} more items
        </button>
      )}
      {structured !== undefined && (
        <>
          <h4>Structured result</h4>
          <pre>
            <code>
              <ForeignText>{asJson(structured)}</ForeignText>
            </code>
          </pre>
          {outputSchema !== undefined && <StructuredCheck schema={outputSchema} value={structured} />}
        </>
      )}
      {blocks.length === 0 && structured === undefined && <p className="quiet">The result is empty.</p>}
      <details>
        <summary>JSON</summary>
        <pre>
          <code>
            <ForeignText>{asJson(result)}</ForeignText>
          </code>
        </pre>
      </details>
    </div>
  );
}

function StructuredCheck({ schema, value }: { schema: unknown; value: unknown }): ReactNode {
  const { problems, isChecked } = useValidation(schema, value);
  const found = Object.entries(problems);
  if (!isChecked) return <p className="quiet">The output schema could not be checked.</p>;
  if (found.length === 0) return <p className="good">It matches the output schema.</p>;
  return (
    <div className="problem">
      <p>It does not match the output schema:</p>
      <ul className="plain">
        {found.slice(0, 10).map(([pointer, problem]) => (
          <li key={pointer}>
            <code>
              <ForeignText>{pointer === '' ? '/' : pointer}</ForeignText>
            </code>{' '}
            <ForeignText>{problem}</ForeignText>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The pictures and sounds that are shown. They become data URLs, so that nothing is loaded from the network. */
const pictures = /^image\/(png|jpe?g|gif|webp|avif|bmp|svg\+xml)$/;
const sounds = /^audio\/(wav|mpeg|mp3|ogg|webm|aac|flac|mp4)$/;
const isBase64 = /^[A-Za-z0-9+/\s]*(=\s*){0,2}$/; // never reads a character of a long text twice

function Block({ block, depth = 0 }: { block: Values; depth?: number }): ReactNode {
  const { type, text, data, mimeType, uri, name, description, resource, role, content, blob } = block;
  if (depth < maxDepth && role !== undefined && content !== undefined) {
    return (
      <>
        <p className="quiet">
          <ForeignText>{asText(role)}</ForeignText>
        </p>
        {(Array.isArray(content) ? content : [content]).slice(0, maxBlocks).map((part: unknown, index) => (
          <Block key={index} block={asObject(part)} depth={depth + 1} />
        ))}
      </>
    );
  }
  if (depth < maxDepth && resource !== undefined)
    return <Block block={asObject(resource)} depth={depth + 1} />;
  if (type === 'resource_link' && typeof uri === 'string') {
    return (
      <p>
        Resource: <ForeignLink url={uri}>{typeof name === 'string' ? name : uri}</ForeignLink>
        {typeof description === 'string' && (
          <>
            {' '}
            <ForeignText>{description}</ForeignText>
          </>
        )}
      </p>
    );
  }
  const media = typeof mimeType === 'string' ? mimeType.toLowerCase() : '';
  const encoded = data ?? blob;
  if (typeof encoded === 'string' && isBase64.test(encoded)) {
    if (pictures.test(media))
      return <img alt="Image from the server" src={`data:${media};base64,${encoded}`} />;
    if (sounds.test(media))
      return <audio controls src={`data:${media};base64,${encoded}`} aria-label="Sound from the server" />;
    return (
      <p>
        <ForeignText>{`${media || 'binary'} data`}</ForeignText>,{' '}
        {bytes(Math.floor((encoded.length * 3) / 4))}
      </p>
    );
  }
  if (typeof text === 'string') {
    return (
      <>
        {typeof uri === 'string' && (
          <p className="quiet">
            <ForeignText>{uri}</ForeignText>
          </p>
        )}
        <pre>
          <ForeignText>{pretty(text)}</ForeignText>
        </pre>
      </>
    );
  }
  return (
    <pre>
      <ForeignText>{asJson(block)}</ForeignText>
    </pre>
  );
}

/** Text that is JSON is easier to read with line breaks. */
function pretty(text: string): string {
  if (!/^\s*[[{]/.test(text) || text.length > 200_000) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
