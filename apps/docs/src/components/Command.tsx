import CodeBlock from '@theme/CodeBlock';
import type { ReactNode } from 'react';
import styles from './command.module.css';

interface CommandProps {
  /** The command without a prompt, which the button copies. */
  children: string;
  /** The output of the command. */
  output?: string;
}

/** A command that readers can copy, with its output. */
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
