// The import names the file, because the package name is an alias for a highlighter without themes.
import { Highlight, themes } from 'prism-react-renderer/dist/index';
import { useId, useState } from 'react';
import type { ReactNode } from 'react';
import styles from './highlighter-themes.module.css';

const names = Object.keys(themes) as (keyof typeof themes)[];

/** One piece of code in the colours of each theme that comes with the highlighter, one at a time. */
export function HighlighterThemes({ children }: { children: string }): ReactNode {
  const [name, setName] = useState<keyof typeof themes>('vsDark');
  const field = useId();
  return (
    <div>
      <p className={styles.choice}>
        <label htmlFor={field}>Colours of</label>
        <select
          id={field}
          value={name}
          onChange={({ target }) => setName(target.value as keyof typeof themes)}
        >
          {names.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </p>
      <Highlight code={children.trim()} language="typescript" theme={themes[name]}>
        {({ className, style, tokens, getLineProps, getTokenProps }) => (
          <pre
            className={className}
            style={style}
            role="group"
            tabIndex={0}
            aria-label={`Code in the colours of ${name}`}
          >
            {tokens.map((line, index) => (
              <div key={index} {...getLineProps({ line })}>
                {line.map((token, at) => (
                  <span key={at} {...getTokenProps({ token })} />
                ))}
              </div>
            ))}
          </pre>
        )}
      </Highlight>
    </div>
  );
}
