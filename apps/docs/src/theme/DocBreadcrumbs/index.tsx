import Breadcrumbs from '@theme-original/DocBreadcrumbs';
import type { ReactNode } from 'react';
import { PageMenu } from '@site/src/components/PageMenu';
import styles from './styles.module.css';

/** The breadcrumbs above the title, and the page menu. */
// Docusaurus insists on a default export.
export default function DocBreadcrumbs(): ReactNode {
  return (
    <div className={styles['top']}>
      <Breadcrumbs />
      <PageMenu />
    </div>
  );
}
