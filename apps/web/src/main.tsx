import 'virtual:colors.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { signIn } from './api/sign-in.ts';
import { startStore } from './api/store.ts';
import { startNotifications } from './notifications/notifications.ts';
import { applyTheme } from './ui/theme.ts';

applyTheme();
await signIn();
startStore();
startNotifications();
const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no element with the ID root');
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
