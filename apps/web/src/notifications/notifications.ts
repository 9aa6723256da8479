import { navigate } from 'wouter/use-browser-location';
import { onEvent } from '../api/store.ts';
import { Wordings } from './wording.ts';

const key = 'notifications';

/** Whether the browser can notify, and whether the user wants that. */
export type NotificationState = 'unsupported' | 'refused' | 'off' | 'on';

export function notificationState(): NotificationState {
  if (!('Notification' in window)) return 'unsupported';
  if (Notification.permission === 'denied') return 'refused';
  return Notification.permission === 'granted' && localStorage.getItem(key) === 'on' ? 'on' : 'off';
}

/** Turns notifications on, for which the browser asks for a permission, or off. Returns the new state. */
export async function switchNotifications(isOn: boolean): Promise<NotificationState> {
  if (!isOn) localStorage.removeItem(key);
  else if ((await Notification.requestPermission()) === 'granted') localStorage.setItem(key, 'on');
  return notificationState();
}

/** Notifies about events while the switch is on. Of several tabs, only one does. When it is closed, another one takes over. */
export function startNotifications(): void {
  if (!('locks' in navigator)) return; // a page over plain http from another machine has neither locks nor notifications
  const wordings = new Wordings();
  let isChosen = false;
  onEvent((event) => {
    const wording = wordings.of(event); // also while it is off, to know which servers have failed
    if (wording === undefined || !isChosen || notificationState() !== 'on') return;
    const { title, body, tag, path } = wording;
    try {
      const shown = new Notification(title, { body, tag, icon: '/ui/icon.svg' });
      shown.addEventListener('click', () => {
        window.focus();
        navigate(path);
        shown.close();
      });
    } catch {
      // Some phones notify only through a service worker, which the web UI does not have.
    }
  });
  void navigator.locks.request('toolhive-notifications', () => {
    isChosen = true;
    return new Promise<never>(() => {}); // until the tab is closed
  });
}
