import type { ReactNode } from 'react';
import styles from './styles.module.css';

interface LoadingProps {
  error: Error | null;
  /** Whether loading takes longer than 200 ms, so that readers notice the delay. */
  pastDelay: boolean;
  retry: () => void;
}

/** The placeholder of a page part that is loading or that failed to load. */
// Docusaurus insists on a default export.
export default function Loading({ error, pastDelay, retry }: LoadingProps): ReactNode {
  if (error !== null) {
    return (
      <div className={styles.failure} role="alert">
        <p>{error.message}</p>
        <button type="button" className="button button--primary" onClick={retry}>
          Retry
        </button>
      </div>
    );
  }
  if (!pastDelay) return null;
  return (
    <div className={styles.waiting} role="status" aria-label="Loading">
      <svg className={styles.cell} viewBox="0 0 32 36" width="48" height="54" aria-hidden="true">
        <path d="M16 2 30 10v16L16 34 2 26V10z" pathLength="6" />
      </svg>
    </div>
  );
}
