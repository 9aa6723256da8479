import Link from '@docusaurus/Link';
import { clsx } from 'clsx';
import type { CSSProperties, ReactNode } from 'react';
import styles from './product-card.module.css';

interface ProductCardProps {
  title: string;
  /** A page of this site, or an external URL, which opens in a new tab. */
  href: string;
  children: ReactNode;
  /** The call to action. The whole card is a link. */
  action?: string;
  /** A logo in place of the title: on light ground, and on dark ground. */
  logo?: { light: string; dark: string };
  variant?: 'default' | 'compact' | 'featured';
  hover?: 'default' | 'none';
}

/** A card that links to a page. */
export function ProductCard(props: ProductCardProps): ReactNode {
  const { title, href, children, action = 'Read more', logo, variant = 'default', hover = 'default' } = props;
  const isElsewhere = /^https?:/.test(href);
  return (
    <div className={clsx(styles.card, styles[variant], hover === 'default' && styles.lifts)}>
      {logo !== undefined && (
        <span
          className={styles.logo}
          style={{ '--light': `url(${logo.light})`, '--dark': `url(${logo.dark})` } as CSSProperties}
        />
      )}
      <h3 className={styles.title}>{title}</h3>
      <div className={styles.body}>{children}</div>
      <Link
        className={styles.action}
        to={href}
        aria-label={`${action}: ${title}`}
        {...(isElsewhere ? { target: '_blank', rel: 'noopener noreferrer' } : {})}
      >
        {action} <span aria-hidden="true">→</span>
      </Link>
    </div>
  );
}

interface ProductGridProps {
  children: ReactNode;
  /** The maximum number of columns. If absent, as many as fit. */
  columns?: 2 | 3 | 4;
  spacing?: 'tight' | 'normal' | 'wide';
}

/** Cards in columns. */
export function ProductGrid({ children, columns, spacing = 'normal' }: ProductGridProps): ReactNode {
  const narrowest = columns === undefined ? '350px' : `${Math.floor(1100 / columns) - 60}px`;
  return (
    <div className={clsx(styles.grid, styles[spacing])} style={{ '--narrowest': narrowest } as CSSProperties}>
      {children}
    </div>
  );
}
