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
        <pre className={styles.output} role="group" aria-label="Output">
          {output}
        </pre>
      )}
    </div>
  );
}
