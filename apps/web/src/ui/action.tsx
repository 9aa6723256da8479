import type { ComponentProps, ReactNode } from 'react';
import { useConnection } from '../api/store.ts';

/** A button for something that the daemon does. It is disabled while the daemon does not respond. */
export function Action({ disabled, type = 'button', ...props }: ComponentProps<'button'>): ReactNode {
  const { connection } = useConnection();
  return <button type={type} disabled={disabled === true || connection === 'lost'} {...props} />;
}
