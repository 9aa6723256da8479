// The document between the web UI and an app: a classic script that the daemon serves on the origin for apps. It has no
// other code in its bundle. The app cannot reach it, because the sandbox gives the app an opaque origin.
import type { FromGate, Opening } from './messages.ts';

/** More messages in a second than an app that works has a reason for. */
const maxMessages = 300;
/** The longest message, in characters. */
const maxLength = 1_000_000;

const { page = '', ui = '', proof = '' } = document.currentScript?.dataset ?? {};
const host = window.parent;
let port: MessagePort | undefined;
let app: HTMLIFrameElement | undefined;
let html: string | undefined;
let count = 0;
let second = 0;

addEventListener('message', ({ source, origin, data, ports }: MessageEvent<unknown>) => {
  if (source === host && origin === ui && port === undefined) open(data as Opening, ports[0]);
  else if (app !== undefined && source === app.contentWindow) pass(data);
});

async function announce(): Promise<void> {
  const isReached = (path: string): Promise<boolean> =>
    fetch(path, { cache: 'no-store' }).then(
      () => true,
      () => false,
    );
  // The headers of this document allow one of the two addresses. A browser that reaches both does not know the header.
  const isConfined = (await isReached('/reachable')) && !(await isReached('/blocked'));
  host.postMessage({ proof, isConfined }, ui);
}

function open(opening: Opening, given: MessagePort | undefined): void {
  if (given === undefined) return;
  port = given;
  html = opening.html;
  port.addEventListener('message', ({ data }: MessageEvent<string>) => {
    // The origin of the app is opaque, so it cannot be named. The policy of this document keeps the frame from other hosts.
    app?.contentWindow?.postMessage(JSON.parse(data), '*');
  });
  port.start();
  app = document.createElement('iframe');
  app.title = opening.title;
  app.setAttribute('sandbox', 'allow-scripts allow-forms');
  app.src = page;
  document.body.append(app);
}

/** Passes a message of the app on, as text, so that the web UI decides how much of it to read. */
function pass(data: unknown): void {
  if (html !== undefined) {
    // The first message says that the empty document has loaded.
    app?.contentWindow?.postMessage(html, '*');
    html = undefined;
    return;
  }
  const now = Math.floor(performance.now() / 1000);
  count = now === second ? count + 1 : 1;
  second = now;
  if (count > maxMessages) return stop('too-many');
  const text = asJson(data);
  if (text === undefined) return;
  if (text.length > maxLength) stop('too-long');
  else tell({ kind: 'message', text });
}

function stop(reason: 'too-many' | 'too-long'): void {
  app?.remove();
  app = undefined;
  tell({ kind: 'stopped', reason });
}

function tell(message: FromGate): void {
  port?.postMessage(message);
}

function asJson(data: unknown): string | undefined {
  try {
    return JSON.stringify(data);
  } catch {
    return undefined; // a cycle or a large integer, so not JSON-RPC
  }
}

announce().catch(() => {}); // fetch failures are answers
