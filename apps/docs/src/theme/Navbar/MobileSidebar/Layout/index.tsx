import { useNavbarMobileSidebar } from '@docusaurus/theme-common/internal';
import Layout from '@theme-original/Navbar/MobileSidebar/Layout';
import type LayoutType from '@theme/Navbar/MobileSidebar/Layout';
import { useEffect } from 'react';
import type { ComponentProps, ReactNode } from 'react';

/** The menu on small screens. While the menu is open, the keyboard focus stays in the menu. Escape closes the menu. */
// Docusaurus insists on a default export.
export default function MobileSidebarLayout(props: ComponentProps<typeof LayoutType>): ReactNode {
  const { shown, toggle } = useNavbarMobileSidebar();
  useEffect(() => (shown ? keepKeyboard(toggle) : undefined), [shown, toggle]);
  return <Layout {...props} />;
}

/** Moves the focus into the menu. The returned function moves the focus back to the button that opened the menu. */
function keepKeyboard(close: () => void): () => void {
  const menu = document.querySelector<HTMLElement>('.navbar-sidebar');
  const navbar = menu?.closest('.navbar');
  if (!menu || !navbar) return () => {};
  const behind = [...(navbar.parentElement?.children ?? []), ...navbar.querySelectorAll('.navbar__inner')];
  const hidden = behind.filter((element) => element !== navbar && !element.hasAttribute('inert'));
  for (const element of hidden) element.setAttribute('inert', '');
  menu.querySelector<HTMLElement>('.navbar-sidebar__close')?.focus();

  const onKeyDown = ({ key, target }: KeyboardEvent): void => {
    const isElsewhere = target !== document.body && !menu.contains(target as Node); // as in an open search
    if (key === 'Escape' && !isElsewhere) close();
  };
  document.addEventListener('keydown', onKeyDown);
  return () => {
    document.removeEventListener('keydown', onKeyDown);
    for (const element of hidden) element.removeAttribute('inert');
    const isLost = menu.contains(document.activeElement) || document.activeElement === document.body;
    if (isLost) navbar.querySelector<HTMLElement>('.navbar__toggle')?.focus();
  };
}
