import { memo, useState } from 'react';
import type { ReactNode } from 'react';
import { CopyButton } from './copy.tsx';
import { download } from './download.ts';
import { ForeignText, maxLength } from './text.tsx';

/** The least and the most characters that one click adds. More would stop the page for a moment. */
const [leastStep, mostStep] = [100_000, 500_000];

/** A foreign text of any length: the beginning at once, the rest on request, and everything as a copy or a file. */
export function LongText({ text, file }: { text: string; file: string }): ReactNode {
  const [shown, setShown] = useState(maxLength);
  const step = Math.min(Math.max(shown, leastStep), mostStep, text.length - shown);
  return (
    <>
      <pre>
        {text.length <= maxLength ? (
          <ForeignText>{text}</ForeignText>
        ) : (
          partsOf(text.slice(0, shown)).map((part, index) => (
            <span key={index} className="text-part">
              <Part>{part.replace(/\n$/, '')}</Part>
            </span>
          ))
        )}
      </pre>
      {text.length > maxLength && (
        <div className="buttons" role="group" aria-label="Long text">
          <span className="quiet" role="status">
            {Math.min(shown, text.length).toLocaleString('en')} of {text.length.toLocaleString('en')}{' '}
            characters
          </span>
          {step > 0 && (
            <button type="button" onClick={() => setShown(shown + step)}>
              {shown + step === text.length ? 'Show all' : `Show ${step.toLocaleString('en')} more`}
            </button>
          )}
          <CopyButton text={text} label="Copy all" what={`of ${file}`} />
          <button type="button" onClick={() => download(text, file)}>
            Download
          </button>
        </div>
      )}
    </>
  );
}

const Part = memo(ForeignText);

/**
 * Parts that are laid out alone, and only when they are seen. They end with a line if they can, and never within a
 * character.
 */
function partsOf(text: string): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; start += parts.at(-1)?.length ?? text.length)
    parts.push(text.slice(start, endOf(text, start)));
  return parts;
}

function endOf(text: string, start: number): number {
  const end = start + maxLength;
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf('\n', end - 1) + 1;
  if (line > start + maxLength / 2) return line;
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
}
