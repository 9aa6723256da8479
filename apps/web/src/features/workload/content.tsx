import type { ReactNode } from 'react';
import { asObject, asText } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';
import { bytes, count } from '../../ui/format.ts';
import { asJson } from '../../ui/json.ts';
import { LongText } from '../../ui/long-text.tsx';
import { ForeignLink, ForeignText } from '../../ui/text.tsx';

/** How many parts are shown at once. */
export const maxBlocks = 100;
/** How deep messages and resources are shown in each other. Servers have no reason to nest them. */
const maxDepth = 3;

/** The pictures and sounds that are shown. They become data URLs, so that nothing is loaded from the network. */
const pictures = /^image\/(png|jpe?g|gif|webp|avif|bmp|svg\+xml)$/;
const sounds = /^audio\/(wav|mpeg|mp3|ogg|webm|aac|flac|mp4)$/;
const isBase64 = /^[A-Za-z0-9+/\s]*(=\s*){0,2}$/; // never reads a character of a long text twice

/** A part of a result or a message, which a server has written. */
export function Block({ block, depth = 0 }: { block: Values; depth?: number }): ReactNode {
  const { type, text, data, mimeType, uri, name, description, resource, role, content, blob } = block;
  if (depth < maxDepth && type === 'tool_result' && Array.isArray(content)) {
    return (
      <>
        <p className="quiet">
          Result of the tool call <ForeignText>{asText(block['toolUseId'])}</ForeignText>
          {block['isError'] === true && ', an error'}
        </p>
        <Blocks content={content} depth={depth + 1} />
      </>
    );
  }
  if (depth < maxDepth && role !== undefined && content !== undefined) {
    return (
      <>
        <p className="quiet">
          <ForeignText>{asText(role)}</ForeignText>
        </p>
        <Blocks content={content} depth={depth + 1} />
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
        <LongText text={pretty(text)} file="result.txt" />
      </>
    );
  }
  return <LongText text={asJson(block)} file="result.json" />;
}

/** One part, or a list of them. */
export function Blocks({ content, depth = 0 }: { content: unknown; depth?: number }): ReactNode {
  const parts = (Array.isArray(content) ? content : [content]) as unknown[];
  return (
    <>
      {parts.slice(0, maxBlocks).map((part, index) => (
        <Block key={index} block={asObject(part)} depth={depth} />
      ))}
      {parts.length > maxBlocks && (
        <p className="quiet">{count(parts.length - maxBlocks, 'more item')} not shown here</p>
      )}
    </>
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
