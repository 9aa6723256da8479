import { useLayoutEffect, useRef, useState } from 'react';
import type { MouseEvent, ReactNode } from 'react';
import { useLocation, useRouter } from 'wouter';

export interface TopologyNode {
  id: string;
  /** As it is shown, without characters that cannot be seen. */
  label: string;
  /** Additional words for its kind or state. */
  note?: string;
  look?: 'good' | 'bad' | 'busy' | 'off';
  href?: string;
}

export interface TopologyLink {
  from: string;
  to: string;
  amount: number;
  /** Some or all of it was refused. */
  isDenied: boolean;
  href: string;
  /** Everything that the line shows, in words. */
  label: string;
}

const [rowHeight, nodeHeight, padding] = [30, 24, 8];
/** The width of a character in 13 px, rather too large than too small. */
const characterWidth = 7.6;

/**
 * Three columns of nodes, and lines between neighboring columns whose width is their amount. Refusals are dashed as well
 * as red. Each line is a link.
 */
export function Topology({
  columns,
  links,
  label,
}: {
  columns: readonly (readonly TopologyNode[])[];
  links: readonly TopologyLink[];
  label: string;
}): ReactNode {
  const frame = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    if (frame.current === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(frame.current);
    return () => observer.disconnect();
  }, []);
  const rows = Math.max(1, ...columns.map(({ length }) => length));
  const height = rows * rowHeight + 2 * padding;
  const nodeWidth = Math.min(208, Math.floor(width / 4.2));
  const gap = (width - 2 * padding - columns.length * nodeWidth) / Math.max(1, columns.length - 1);
  const places = new Map(
    columns.flatMap((nodes, column) =>
      nodes.map(({ id }, row) => [
        id,
        {
          x: padding + column * (nodeWidth + gap),
          y: padding + ((rows - nodes.length) / 2 + row + 0.5) * rowHeight,
        },
      ]),
    ),
  );
  const most = Math.max(1, ...links.map(({ amount }) => amount));
  return (
    <div ref={frame} className="topology">
      {width > 0 && (
        <svg width={width} height={height} role="group" aria-label={label}>
          {links.map((link) => {
            const [start, end] = [places.get(link.from), places.get(link.to)];
            if (start === undefined || end === undefined) return null;
            const from = start.x + nodeWidth;
            const middle = (from + end.x) / 2;
            const path = `M${from} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}`;
            return (
              <DrawnLink key={`${link.from} ${link.to} ${link.isDenied}`} href={link.href} label={link.label}>
                <path d={path} className="link-target" />
                <path
                  d={path}
                  className={link.isDenied ? 'link-denied' : link.amount === 0 ? 'link-idle' : 'link-used'}
                  strokeWidth={link.amount === 0 ? 1 : 1.5 + 6 * Math.sqrt(link.amount / most)}
                />
              </DrawnLink>
            );
          })}
          {columns.flat().map((node) => {
            const place = places.get(node.id);
            if (place === undefined) return null;
            const text = shorten(node.label, Math.floor((nodeWidth - 30) / characterWidth));
            const drawn = (
              <>
                <title>{node.note === undefined ? node.label : `${node.label}, ${node.note}`}</title>
                <rect x={place.x} y={place.y - nodeHeight / 2} width={nodeWidth} height={nodeHeight} rx="6" />
                {node.look === 'bad' ? (
                  <path className="node-bad" d={`M${place.x + 12} ${place.y - 5}l5 5l-5 5l-5 -5z`} />
                ) : (
                  <circle className={`node-${node.look ?? 'off'}`} cx={place.x + 12} cy={place.y} r="4" />
                )}
                <text x={place.x + 22} y={place.y + 4.5}>
                  {text}
                </text>
              </>
            );
            return node.href === undefined ? (
              <g key={node.id} className="node">
                {drawn}
              </g>
            ) : (
              <DrawnLink
                key={node.id}
                className="node"
                href={node.href}
                label={`Show ${node.label}${node.note === undefined ? '' : `, ${node.note}`}`}
              >
                {drawn}
              </DrawnLink>
            );
          })}
        </svg>
      )}
    </div>
  );
}

/** A link in a drawing, which stays within the page as all others. */
function DrawnLink({
  href,
  label,
  className,
  children,
}: {
  href: string;
  label: string;
  className?: string;
  children: ReactNode;
}): ReactNode {
  const { base } = useRouter();
  const [, navigate] = useLocation();
  const open = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || event.button !== 0) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a href={`${base}${href}`} aria-label={label} className={className} onClick={open}>
      <title>{label}</title>
      {children}
    </a>
  );
}

/** Leaves out the middle, because many names differ only at their end. */
function shorten(text: string, length: number): string {
  const characters = Array.from(text);
  if (characters.length <= length) return text;
  const ending = Math.floor((length - 1) / 2);
  const start = characters.slice(0, Math.max(1, length - 1 - ending));
  return `${start.join('')}…${characters.slice(characters.length - ending).join('')}`;
}
