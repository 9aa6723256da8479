import { useState } from 'react';

interface Followed {
  text: string;
  set: (text: string) => void;
  /** The user has changed the text, and since then the stored one has become another one. */
  isOvertaken: boolean;
}

/** A text that begins as the stored one, and follows it until the user changes it. */
export function useFollowed(stored: string): Followed {
  const [text, setText] = useState(stored);
  const [known, setKnown] = useState(stored);
  const [isOvertaken, setOvertaken] = useState(false);
  if (stored !== known) {
    setKnown(stored);
    if (text === known) setText(stored);
    setOvertaken(text !== known && text !== stored);
  }
  return { text, set: setText, isOvertaken: isOvertaken && text !== stored };
}
