import { Component, useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { Link, useLocation } from 'wouter';
import { signInFailure } from './api/sign-in.ts';
import { workloads } from './api/resources.ts';
import { failureOf, useConnection, useResource } from './api/store.ts';
import { Palette } from './features/palette/palette.tsx';
import { Shortcuts } from './features/palette/shortcuts.tsx';
import { Icon } from './ui/drawing/icon.tsx';
import { ago } from './ui/format.ts';
import { DocumentationLink, Page } from './ui/page.tsx';
import { Failure } from './ui/states.tsx';
import { CodeField } from './ui/code-field.tsx';
import { CopyButton } from './ui/copy.tsx';
import { Toasts } from './ui/toast-list.tsx';
import { Unloaded, UnloadedScreen } from './ui/unloaded.tsx';

const sections = [
  { path: '/', label: 'Servers', icon: 'workloads' },
  { path: '/add', label: 'Add a server', icon: 'add' },
  { path: '/groups', label: 'Groups', icon: 'groups' },
  { path: '/clients', label: 'Clients', icon: 'clients' },
  { path: '/secrets', label: 'Secrets', icon: 'secrets' },
  { path: '/registries', label: 'Registries', icon: 'registries' },
  { path: '/activity', label: 'Activity', icon: 'activity' },
  { path: '/doctor', label: 'Doctor', icon: 'doctor' },
  { path: '/settings', label: 'Settings', icon: 'settings' },
] as const;

/** The frame of every screen: navigation, connection state, messages, and the command palette. */
export function Shell({ children }: { children: ReactNode }): ReactNode {
  const [location] = useLocation();
  const [open, setOpen] = useState<'palette' | 'shortcuts' | undefined>();
  const { connection } = useConnection();
  const isSignedOut = useResource(workloads).error?.kind === 'unauthorized';
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        setOpen('palette');
      } else if (event.key === '?' && !isTyping(event.target)) {
        setOpen('shortcuts');
      } else if (event.key === '/' && !isTyping(event.target)) {
        const field = document.querySelector<HTMLElement>('main input[type=search]');
        if (field === null) return;
        event.preventDefault();
        field.focus();
      }
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, []);
  const section = location.startsWith('/w/')
    ? '/'
    : (sections.findLast(({ path }) => path !== '/' && location.startsWith(path))?.path ?? '/');
  return (
    <>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <div className="shell">
        <Navigation key={location} section={section} onSearch={() => setOpen('palette')} />
        <main id="main" tabIndex={-1} data-offline={connection === 'lost'}>
          {isSignedOut ? (
            <SignedOut />
          ) : (
            <>
              <ConnectionBanner />
              <Boundary key={location}>{children}</Boundary>
            </>
          )}
        </main>
      </div>
      <Toasts />
      {open === 'palette' && <Palette onClose={() => setOpen(undefined)} />}
      {open === 'shortcuts' && <Shortcuts onClose={() => setOpen(undefined)} />}
    </>
  );
}

/** On a phone, the sections are in a menu, which closes with the next screen. */
function Navigation({ section, onSearch }: { section: string; onSearch: () => void }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <nav aria-label="Main" data-open={isOpen}>
      <div className="nav-start">
        <Link href="/" className="brand">
          <img src="/ui/icon.svg" alt="" width="24" height="24" />
          <span className="nav-label">ToolHive</span>
        </Link>
        <button
          type="button"
          className="menu-toggle icon"
          aria-expanded={isOpen}
          aria-label="Menu"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'close' : 'menu'} />
        </button>
      </div>
      <ul>
        {sections.map(({ path, label, icon }) => (
          <li key={path}>
            <Link href={path} title={label} aria-current={path === section ? 'page' : undefined}>
              <Icon name={icon} />
              <span className="nav-label">{label}</span>
            </Link>
          </li>
        ))}
      </ul>
      <div className="nav-end">
        <button
          type="button"
          title="Search and commands"
          onClick={onSearch}
          aria-keyshortcuts="Control+K Meta+K"
        >
          <Icon name="search" />
          <span className="nav-label">Search</span> <kbd className="nav-label">Ctrl K</kbd>
        </button>
        <DocumentationLink path="/toolhive" />
      </div>
    </nav>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Instead of every screen, which could show nothing but its own failure. */
function SignedOut(): ReactNode {
  return (
    <Page title="Sign in to use this page">
      {signInFailure !== undefined && <Failure failure={failureOf(signInFailure)} title="Cannot sign in" />}
      <p>A command on the machine of the daemon opens this page with a one-time code.</p>
      <CodeField />
    </Page>
  );
}

/** Says that the daemon does not respond, and how old the data on the screen is. */
function ConnectionBanner(): ReactNode {
  const { connection, lostAt } = useConnection();
  const { at } = useResource(workloads);
  if (signInFailure !== undefined) {
    return <Failure failure={failureOf(signInFailure)} title="Cannot sign in" />;
  }
  if (connection !== 'lost') return null;
  return (
    <div className="notice failure" role="alert">
      <strong>The daemon does not respond</strong>
      <p>
        {at === undefined ? 'No data was loaded.' : `This page shows data from ${ago(at, lostAt)}.`} It
        reconnects automatically.
      </p>
      <p className="fix">
        Start the daemon again: <CopyButton text="thv serve" label="Copy the command" what="thv serve" />
      </p>
    </div>
  );
}

/** Shows a fault of one screen without losing the others. */
class Boundary extends Component<{ children: ReactNode }, { fault: unknown }> {
  override readonly state: { fault: unknown } = { fault: undefined };

  static getDerivedStateFromError(fault: unknown): { fault: unknown } {
    return { fault };
  }

  override render(): ReactNode {
    const { fault } = this.state;
    if (fault === undefined) return this.props.children;
    if (fault instanceof UnloadedScreen) return <Unloaded />;
    return (
      <Failure
        failure={failureOf(fault)}
        title="This screen failed"
        onRetry={() => this.setState({ fault: undefined })}
      />
    );
  }
}
