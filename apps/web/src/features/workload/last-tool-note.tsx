import type { ReactNode } from 'react';

/** The reason why the last tool cannot be disabled. */
export function LastToolNote(): ReactNode {
  return (
    <p role="alert">
      At least one tool has to stay enabled. To withhold all tools from clients, stop the server.
    </p>
  );
}
