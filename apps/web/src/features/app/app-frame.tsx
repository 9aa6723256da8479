import { useEffect, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import type { ListedTool } from '@toolhive/contract/capabilities';
import type { Announcement, FromGate, Opening } from '../../app-gate/messages.ts';
import { asObject } from '../../api/mcp.ts';
import type { Values } from '../../api/mcp.ts';
import { Notice } from '../../ui/states.tsx';
import { plainForeign } from '../../ui/text.tsx';
import { AppDialog } from './app-dialog.tsx';
import { AppHost } from './app-host.ts';
import type { AppHostOptions, Question } from './app-host.ts';

/** How long the browser may take to load the frame. */
const loadingMs = 10_000;
/** How long an app may take to end after the user has stopped it. */
const endingMs = 500;
/** Messages that reach the web UI past the gate. An app has no reason to send them. */
const maxStray = 100;
const heights = { least: 80, first: 240, most: 800 };

/** Sends a request to the workload of the app. */
export type SendToWorkload = (method: string, params: Values, signal: AbortSignal) => Promise<Values>;

export interface AppFrameProps {
  workload: string;
  tool: ListedTool;
  tools: readonly ListedTool[];
  args: Values;
  result: Values;
  html: string;
  frame: { url: string; proof: string };
  grants: AppHostOptions['grants'];
  send: SendToWorkload;
  onText: AppHostOptions['onText'];
  /** The app has ended, and why. */
  onStop: (reason: string) => void;
}

/** An app in its frame, with the dialogs for its actions. */
export function AppFrame(props: AppFrameProps): ReactNode {
  const element = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(heights.first);
  const [asked, setAsked] = useState<{ question: Question; answer: (isAllowed: boolean) => void }>();
  const [unconfined, setUnconfined] = useState<{ open: () => void }>();
  const [stop, setStop] = useState<{ run: () => void }>();
  const { workload, tool, frame } = props;
  const title = `App of the tool ${plainForeign(tool.name).slice(0, 200)} from ${workload}`;

  useEffect(() => {
    const window = element.current?.contentWindow;
    if (window === undefined || window === null) return undefined;
    const session = openSession(window, title, props, {
      onAsk: setAsked,
      onHeight: (wanted) =>
        setHeight(Math.min(heights.most, Math.max(heights.least, wanted)) || heights.first),
      onUnconfined: (open) => setUnconfined({ open }),
    });
    setStop({ run: session.stop });
    return session.dispose;
    // oxlint-disable-next-line exhaustive-deps -- a frame is for one page and one result
  }, [frame.url]);

  return (
    <>
      {unconfined !== undefined && (
        <Notice kind="warning">
          <p>
            This browser cannot keep an app from opening WebRTC connections, so a hostile app could send data
            to other hosts. Chrome and Edge can, in their current versions.
          </p>
          <button
            type="button"
            onClick={() => {
              unconfined.open();
              setUnconfined(undefined);
            }}
          >
            Show the app in this browser
          </button>
        </Notice>
      )}
      <iframe
        ref={element}
        className="app-frame"
        title={title}
        src={frame.url}
        sandbox="allow-scripts allow-forms allow-same-origin"
        referrerPolicy="no-referrer"
        height={unconfined === undefined ? height : 0}
      />
      <div className="buttons">
        <button type="button" onClick={() => stop?.run()}>
          Stop the app
        </button>
      </div>
      {asked !== undefined && (
        <AppDialog
          workload={workload}
          question={asked.question}
          onAnswer={asked.answer}
          onStop={() => {
            asked.answer(false);
            props.onStop('You stopped the app.');
          }}
        />
      )}
    </>
  );
}

interface SessionEvents {
  onAsk: (asked: { question: Question; answer: (isAllowed: boolean) => void } | undefined) => void;
  onHeight: (height: number) => void;
  /** The browser cannot confine the app. The user decides. */
  onUnconfined: (open: () => void) => void;
}

/** Connects an app, and keeps it connected until it is disposed of. */
function openSession(
  frameWindow: Window,
  title: string,
  { frame, html, send, onStop, ...options }: AppFrameProps,
  { onAsk, onHeight, onUnconfined }: SessionEvents,
): { stop: () => void; dispose: () => void } {
  const { origin } = new URL(frame.url);
  const controller = new AbortController();
  const { signal } = controller;
  const { port1: port, port2 } = new MessageChannel();
  let deny = (): void => {};
  let isAnnounced = false;
  let strays = 0;
  const host = new AppHost({
    ...options,
    context: () => contextOf(frameWindow),
    send: (message) => port.postMessage(JSON.stringify(message)),
    call: (method, params) => send(method, params, signal),
    openLink: (url) => window.open(url, '_blank', 'noopener,noreferrer'),
    onHeight,
    onEnd: () => onStop('The app ended.'),
    confirm(question) {
      if (signal.aborted) return Promise.resolve(false);
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const answer = (isAllowed: boolean): void => {
        onAsk(undefined);
        resolve(isAllowed);
      };
      deny = () => answer(false);
      onAsk({ question, answer });
      return promise;
    },
  });
  port.addEventListener('message', ({ data }: MessageEvent<FromGate>) => {
    if (data.kind === 'message') host.receive(data.text);
    else onStop(stopReasons[data.reason]);
  });
  port.start();
  const timer = setTimeout(
    () =>
      onStop(
        `The browser does not reach ${origin}, where apps are shown. If the web UI is open through a tunnel, forward this port as well.`,
      ),
    loadingMs,
  );
  const open = (): void => frameWindow.postMessage({ html, title } satisfies Opening, origin, [port2]);
  const onMessage = ({ source, origin: from, data }: MessageEvent<unknown>): void => {
    // The content of other messages is not even looked at.
    if (!isAnnounced && source === frameWindow && from === origin) {
      const { proof, isConfined } = asObject(data) as unknown as Partial<Announcement>;
      if (proof !== frame.proof) return;
      isAnnounced = true;
      clearTimeout(timer);
      if (isConfined === true) open();
      else onUnconfined(open);
    } else if (source !== window && ++strays > maxStray) onStop(stopReasons['too-many']); // extensions write to their own window
  };
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const theme = new MutationObserver(() => host.contextChanged());
  theme.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  dark.addEventListener('change', () => host.contextChanged(), { signal });
  window.addEventListener('message', onMessage, { signal });
  return {
    stop() {
      const late = new Promise<void>((resolve) => {
        setTimeout(resolve, endingMs);
      });
      void Promise.race([host.end(), late]).then(() => onStop('You stopped the app.'));
    },
    dispose() {
      controller.abort();
      clearTimeout(timer);
      theme.disconnect();
      port.close();
      deny();
    },
  };
}

const stopReasons = {
  'too-many': 'ToolHive stopped the app, because it sent too many messages.',
  'too-long': 'ToolHive stopped the app, because it sent a message that is too long.',
} as const;

/** The context of an app: the page around it. */
function contextOf(frameWindow: Window): Values {
  const { theme } = document.documentElement.dataset;
  const isDark = theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  const frame = [...document.querySelectorAll('iframe')].find((each) => each.contentWindow === frameWindow);
  return {
    theme: isDark ? 'dark' : 'light',
    displayMode: 'inline',
    availableDisplayModes: ['inline'],
    containerDimensions: { width: frame?.clientWidth ?? 0, maxHeight: heights.most },
    locale: navigator.language,
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    userAgent: 'toolhive-ui',
    platform: 'web',
    deviceCapabilities: {
      touch: matchMedia('(pointer: coarse)').matches,
      hover: matchMedia('(hover: hover)').matches,
    },
  };
}
