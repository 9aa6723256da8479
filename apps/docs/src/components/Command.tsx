import CodeBlock from '@theme/CodeBlock';
import type { ReactNode } from 'react';
import styles from './command.module.css';

interface CommandProps {
  /** What is typed, without a prompt; it is what the button copies. */
  children: string;
  /** What it prints, as it was printed. */
  output?: string;
}

/** A command to copy, and what it answers. */
export function Command({ children, output }: CommandProps): ReactNode {
  return (
    <div className={styles.command}>
      <CodeBlock language="bash" className={styles.typed}>
        {children}
      </CodeBlock>
      {output !== undefined && (
        // Wide output scrolls, so a keyboard has to reach it.
        <pre className={styles.output} role="group" tabIndex={0} aria-label="Output">
          {output}
        </pre>
      )}
    </div>
  );
}
