import { Suspense, lazy } from 'react';
import type { ComponentType, ReactNode } from 'react';
import { Redirect, Route, Router, Switch, useLocation } from 'wouter';
import { Home } from './features/home/home.tsx';
import { Shell } from './shell.tsx';
import { Page } from './ui/page.tsx';
import { Empty, Skeleton } from './ui/states.tsx';
import { UnloadedScreen } from './ui/unloaded.tsx';

const screen = <Name extends string>(
  load: () => Promise<Record<Name, () => ReactNode>>,
  name: Name,
): ComponentType =>
  lazy(async () => {
    const loaded = await load().catch((cause: unknown) => {
      throw new UnloadedScreen(`${name} could not be loaded`, { cause });
    });
    return { default: loaded[name] as ComponentType }; // it has no props
  });

/** Every screen but the first one is loaded when it is opened. */
const screens: Record<string, ComponentType> = {
  '/': Home,
  '/welcome': screen(() => import('./features/welcome/welcome.tsx'), 'Welcome'),
  '/add': screen(() => import('./features/add/add.tsx'), 'Add'),
  '/add/:registry/:server': screen(() => import('./features/add/entry.tsx'), 'AddEntry'),
  '/w/:name/tools': screen(() => import('./features/workload/tools.tsx'), 'Tools'),
  '/w/:name/traffic': screen(() => import('./features/workload/traffic.tsx'), 'Traffic'),
  '/w/:name/network': screen(() => import('./features/workload/network.tsx'), 'Network'),
  '/w/:name/logs': screen(() => import('./features/workload/logs.tsx'), 'Logs'),
  '/w/:name/access': screen(() => import('./features/workload/access.tsx'), 'Access'),
  '/w/:name/configuration': screen(() => import('./features/workload/configuration.tsx'), 'Configuration'),
  '/w/:name/edit': MovedEdit,
  '/w/:name': screen(() => import('./features/workload/now.tsx'), 'Now'),
  '/groups': screen(() => import('./features/groups/groups.tsx'), 'Groups'),
  '/groups/:name': screen(() => import('./features/groups/group.tsx'), 'GroupScreen'),
  '/clients': screen(() => import('./features/clients/clients.tsx'), 'Clients'),
  '/secrets': screen(() => import('./features/secrets/secrets.tsx'), 'Secrets'),
  '/registries': screen(() => import('./features/registries/registries.tsx'), 'Registries'),
  '/activity': screen(() => import('./features/activity/activity.tsx'), 'Activity'),
  '/doctor': screen(() => import('./features/doctor/doctor.tsx'), 'Doctor'),
  '/settings': screen(() => import('./features/settings/settings.tsx'), 'Settings'),
};

/** The whole web UI. */
export function App(): ReactNode {
  return (
    <Router base="/ui">
      <Shell>
        <Suspense fallback={<Skeleton what="the screen" />}>
          <Switch>
            {Object.entries(screens).map(([path, component]) => (
              <Route key={path} path={path} component={component} />
            ))}
            <Route>
              <Page title="Not found">
                <Empty title="This screen does not exist">Choose one from the navigation.</Empty>
              </Page>
            </Route>
          </Switch>
        </Suspense>
      </Shell>
    </Router>
  );
}

/** Links of earlier versions. */
function MovedEdit(): ReactNode {
  const [location] = useLocation();
  return <Redirect to={location.replace(/edit$/, 'configuration')} replace />;
}
