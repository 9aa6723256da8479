import type { ReactNode } from 'react';
import type { Finding } from '@toolhive/contract/diagnosis';
import { Icon } from '../../ui/drawing/icon.tsx';
import type { IconName } from '../../ui/drawing/icon.tsx';
import { count } from '../../ui/format.ts';

interface Part {
  title: string;
  icon: IconName;
  layers: readonly string[];
}

const clients: Part = { title: 'Clients', icon: 'clients', layers: ['clients', 'sandbox'] };
const servers: Part = { title: 'Servers', icon: 'workloads', layers: ['process'] };

/** The parts of the diagnosis with the number of problems in each. */
export function Tiles({ findings }: { findings: readonly Finding[] }): ReactNode {
  const others = findings
    .map(({ layer }) => layer)
    .filter((layer) => !isIn(clients, layer) && !isIn(servers, layer));
  const machine: Part = { title: 'This machine', icon: 'settings', layers: others };
  return (
    <ul className="door-cards">
      {[machine, servers, clients].map((part) => {
        const its = findings.filter(({ layer }) => isIn(part, layer));
        const of = (state: Finding['state']): number =>
          its.filter((finding) => finding.state === state).length;
        const look = of('failed') > 0 ? 'open' : of('warning') > 0 ? 'ajar' : 'shut';
        const problems = [
          of('failed') > 0 && count(of('failed'), 'problem'),
          of('warning') > 0 && count(of('warning'), 'warning'),
        ].filter(Boolean);
        return (
          <li key={part.title} className={`door-card ${look}`}>
            <strong>
              <Icon name={part.icon} /> {part.title}
            </strong>
            <div>{problems.length === 0 ? 'No problem' : problems.join(', ')}</div>
          </li>
        );
      })}
    </ul>
  );
}

const isIn = ({ layers }: Part, layer: string): boolean => layers.includes(layer);
