import { useState } from 'react';

/** A text that begins as the stored one, and follows it until the user changes it. */
export function useFollowed(stored: string): [text: string, set: (text: string) => void] {
  const [text, setText] = useState(stored);
  const [known, setKnown] = useState(stored);
  if (stored !== known) {
    setKnown(stored);
    if (text === known) setText(stored);
  }
  return [text, setText];
}
