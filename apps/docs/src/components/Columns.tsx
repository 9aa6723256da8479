import type { ReactNode } from 'react';
import styles from './columns.module.css';

/** Cells side by side, below each other where there is no room. */
export function Columns({ children }: { children: ReactNode }): ReactNode {
  return <div className={styles.columns}>{children}</div>;
}

export function Column({ children }: { children: ReactNode }): ReactNode {
  return <div className={styles.column}>{children}</div>;
}
