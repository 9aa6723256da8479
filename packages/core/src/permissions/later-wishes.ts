/**
 * The findings about wishes in requests and run configs from later versions of the original that no workload gets:
 * `allow_docker_gateway` and `runtime_config`.
 */
export function ungrantedWishes(asked: Readonly<Record<string, unknown>>): string[] {
  const { allow_docker_gateway: gateway, runtime_config: runtime } = asked;
  return [
    ...(gateway === true
      ? [
          'not granted: access to all ports of this machine (allow_docker_gateway). To grant the access to one port, add {"local_ports":[PORT]} to an edit of the workload, or --allow-local-port PORT to thv run. The server reaches the port at its localhost',
        ]
      : []),
    ...(isChosen(runtime)
      ? [
          'not used: the base image and the system packages (runtime_config), which ToolHive chooses. For others, build an image, and run the image',
        ]
      : []),
  ];
}

function isChosen(runtime: unknown): boolean {
  return (
    typeof runtime === 'object' &&
    runtime !== null &&
    Object.values(runtime).some((value) => (Array.isArray(value) ? value.length > 0 : Boolean(value)))
  );
}
