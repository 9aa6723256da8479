import type { ReactNode } from 'react';
import { Command } from '@site/src/components/Command';
import styles from './refusal.module.css';

/** A server that is refused a host, as the guide about network isolation shows it. */
export function Refusal(): ReactNode {
  return (
    <div className={styles.refusal}>
      <svg
        viewBox="0 0 480 130"
        role="img"
        aria-label="The server fetch can reach registry.npmjs.org, which you allowed. Its connection to collector.example is refused."
      >
        <g className={styles.server}>
          <rect x={1} y={38} width={130} height={54} rx={8} />
          <text x={16} y={60} className={styles.name}>
            fetch
          </text>
          <text x={16} y={79}>
            in a sandbox
          </text>
        </g>
        <g className={styles.allowed}>
          <path d="M131 54C190 54 200 28 262 28m-7 -5 7 5 -7 5" />
          <rect x={270} y={1} width={209} height={54} rx={8} />
          <text x={284} y={23} className={styles.name}>
            registry.npmjs.org
          </text>
          <text x={284} y={42}>
            allowed
          </text>
        </g>
        <g className={styles.denied}>
          <path d="M131 76C190 76 200 102 250 102m-6 -6 12 12m0 -12 -12 12" />
          <rect x={270} y={75} width={209} height={54} rx={8} />
          <text x={284} y={97} className={styles.name}>
            collector.example
          </text>
          <text x={284} y={116}>
            refused
          </text>
        </g>
      </svg>
      <Command output={denied}>thv network fetch --denied</Command>
    </div>
  );
}

/** As the guide prints it, where a test runs the command. */
const denied = `HOST                VERDICT   …   WHY
collector.example   denied    …   no rule allows this host

To allow it: thv permission allow fetch collector.example`;
