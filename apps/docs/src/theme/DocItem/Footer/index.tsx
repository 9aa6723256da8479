import { useLocation } from '@docusaurus/router';
import Footer from '@theme-original/DocItem/Footer';
import { lazy, Suspense } from 'react';
import type { ReactNode } from 'react';
import { isIssueForm } from '@site/src/components/send-feedback';
import { useFeedback } from '@site/src/components/use-feedback';

// Fetched only where it is switched on.
const Helpful = lazy(async () => ({ default: (await import('@site/src/components/Helpful')).Helpful }));

/** At the end of a page: whether it helped, where answers can be sent, and what the theme says about its source. */
// Docusaurus insists on a default export.
export default function DocItemFooter(): ReactNode {
  const to = useFeedback();
  const { pathname } = useLocation();
  return (
    <>
      {to !== undefined && !isIssueForm(to) && (
        <Suspense>
          <Helpful key={pathname} to={to} />
        </Suspense>
      )}
      <Footer />
    </>
  );
}
