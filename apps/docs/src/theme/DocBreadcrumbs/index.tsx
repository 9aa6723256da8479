import Breadcrumbs from '@theme-original/DocBreadcrumbs';
import type { ReactNode } from 'react';
import { PageMenu } from '@site/src/components/PageMenu';
import styles from './styles.module.css';

/** Above the title of a page: where it stands, and what else can be done with it. */
// Docusaurus insists on a default export.
export default function DocBreadcrumbs(): ReactNode {
  return (
    <div className={styles['top']}>
      <Breadcrumbs />
      <PageMenu />
    </div>
  );
}
