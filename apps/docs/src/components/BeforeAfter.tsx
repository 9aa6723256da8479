import type { ReactNode } from 'react';
import styles from './before-after.module.css';

/** The servers of three clients, before and after `thv adopt`. */
export function BeforeAfter(): ReactNode {
  return (
    <div className={styles.pictures}>
      <Picture
        title="Before"
        alt="Claude Code, Cursor, and Codex each start their own copy of the same server. Each of their files contains the API key, and each copy can read the files of the user."
      >
        {rows.map((y, index) => (
          <g key={y} transform={`translate(0 ${y})`}>
            <Box x={1} width={124} name={clients[index]} note="API key in a file" />
            <Arrow from={125} to={171} />
            <Box x={173} width={126} name="github" note="sees your files" kind="loose" />
          </g>
        ))}
      </Picture>
      <Picture
        title="After"
        alt="Claude Code, Cursor, and Codex have only a URL, which leads to ToolHive. ToolHive keeps the API key encrypted, and runs the server once, in isolation."
      >
        {rows.map((y, index) => (
          <g key={y} transform={`translate(0 ${y})`}>
            <Box x={1} width={105} name={clients[index]} note="a URL" />
            <Arrow from={106} to={121} />
          </g>
        ))}
        <g className={styles.hive}>
          <rect x={123} y={1} width={82} height={198} rx={10} />
          <text x={164} y={84} textAnchor="middle" className={styles.name}>
            ToolHive
          </text>
          <text x={164} y={112} textAnchor="middle">
            API key,
          </text>
          <text x={164} y={130} textAnchor="middle">
            encrypted
          </text>
        </g>
        <g transform="translate(0 72)">
          <Arrow from={205} to={219} />
          <Box x={221} width={78} name="github" note="isolated" kind="isolated" />
        </g>
      </Picture>
    </div>
  );
}

const clients = ['Claude Code', 'Cursor', 'Codex'];
const rows = [0, 72, 144];

function Picture({ title, alt, children }: { title: string; alt: string; children: ReactNode }): ReactNode {
  return (
    <figure className={styles.picture}>
      <figcaption>{title}</figcaption>
      <svg viewBox="0 0 300 200" role="img" aria-label={alt}>
        {children}
      </svg>
    </figure>
  );
}

interface BoxProps {
  x: number;
  width: number;
  name: string | undefined;
  note: string;
  kind?: 'plain' | 'loose' | 'isolated';
}

function Box({ x, width, name, note, kind = 'plain' }: BoxProps): ReactNode {
  return (
    <g className={styles[kind]}>
      <rect x={x} y={1} width={width} height={54} rx={8} />
      <text x={x + 9} y={24} className={styles.name}>
        {name}
      </text>
      <text x={x + 9} y={43}>
        {note}
      </text>
    </g>
  );
}

function Arrow({ from, to }: { from: number; to: number }): ReactNode {
  return <path className={styles.arrow} d={`M${from} 28H${to}m-6 -5 6 5 -6 5`} />;
}
