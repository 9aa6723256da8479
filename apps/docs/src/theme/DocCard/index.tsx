import Link from '@docusaurus/Link';
import { findFirstSidebarItemLink, useDocById } from '@docusaurus/plugin-content-docs/client';
import Heading from '@theme/Heading';
import type { Props } from '@theme/DocCard';
import type { ReactNode } from 'react';

/** A card of a page or category with the complete description, which the theme would truncate after one line. */
// Docusaurus insists on a default export.
export default function DocCard({ item }: Props): ReactNode {
  const doc = useDocById(item.type === 'link' ? (item.docId ?? undefined) : undefined);
  if (item.type === 'html') return null; // the category has no link target
  const href = item.type === 'link' ? item.href : findFirstSidebarItemLink(item);
  if (href === undefined) return null; // an empty category
  const description = item.description ?? doc?.description;
  return (
    <Link href={href} className="card card--index">
      <Heading as="h2">{item.label}</Heading>
      {description !== undefined && <p>{description}</p>}
    </Link>
  );
}
