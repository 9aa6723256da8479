import type { ReactNode } from 'react';
import { McpError } from '../../api/mcp.ts';
import { failureOf } from '../../api/store.ts';
import { duration } from '../../ui/format.ts';
import { asJson } from '../../ui/json.ts';
import { Failure } from '../../ui/states.tsx';
import { ForeignText } from '../../ui/text.tsx';

/** Why a call has no result. */
export function CallFailure({ failure, ms }: { failure: unknown; ms: number }): ReactNode {
  if (failure instanceof DOMException && failure.name === 'AbortError') {
    return <p className="quiet">Canceled after {duration(ms)}.</p>;
  }
  if (failure instanceof McpError) {
    return (
      <div className="notice failure" role="alert">
        <strong>The server answered with error {failure.code}</strong>
        <p>
          <ForeignText>{failure.message}</ForeignText>
        </p>
        {failure.data !== undefined && (
          <pre>
            <ForeignText>{asJson(failure.data)}</ForeignText>
          </pre>
        )}
      </div>
    );
  }
  return <Failure failure={failureOf(failure)} title="The call failed" />;
}
